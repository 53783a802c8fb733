// Figures as a person reads them: the same text as the program prints.

const MISSING = "-";

/** `value` with so many decimals, thousands apart; exact ties go to the even digit. */
function fixed(value, decimals) {
  const size = Math.abs(value);
  if (size >= 1e21) return grouped(BigInt(Math.round(value)).toString());
  let text = size.toFixed(decimals);
  const exact = size.toFixed(Math.min(decimals + 60, 100));
  const rest = decimals ? exact.slice(exact.indexOf(".") + 1 + decimals) : exact.slice(exact.indexOf(".") + 1);
  if (/^50*$/.test(rest)) {
    const down = decimals ? exact.slice(0, exact.length - rest.length) : exact.slice(0, exact.indexOf("."));
    if (Number(down.at(-1)) % 2 === 0) text = down;
  }
  return grouped(value < 0 || Object.is(value, -0) ? `-${text}` : text);
}

function grouped(text) {
  const [whole, part] = text.split(".");
  const apart = whole.replace(/\B(?=(\d{3})+$)/g, ",");
  return part === undefined ? apart : `${apart}.${part}`;
}

/** `digits` significant figures; a dash for what is not known. */
function number(value, digits = 3) {
  if (value === null || value === undefined || Number.isNaN(value)) return MISSING;
  const exponent = value ? Number(Math.abs(value).toExponential(digits - 1).split("e")[1]) : 0;
  const decimals = value ? Math.max(digits - 1 - exponent, 0) : 0;
  return fixed(value, Math.min(decimals, digits));
}

/** A number of a table or an axis in full: no figure that was measured is lost, none is made up. */
function plain(value) {
  if (value === null || value === undefined) return MISSING;
  return Math.abs(value) < 1e15 && Math.abs(value) >= 1e-4 ? grouped(String(Number(value.toPrecision(10)))) : String(value);
}

/** Seconds as h:mm:ss, with `decimals` of a second. */
function clock(seconds, decimals = 0) {
  if (seconds === null || seconds === undefined) return MISSING;
  const unit = 10 ** decimals;
  const parts = Math.round(Math.abs(seconds) * unit);
  const whole = Math.floor(parts / unit);
  const two = (n) => String(n).padStart(2, "0");
  const rest = decimals ? `.${String(parts % unit).padStart(decimals, "0")}` : "";
  const sign = seconds < 0 && parts ? "-" : "";
  return `${sign}${grouped(String(Math.floor(whole / 3600)))}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)}${rest}`;
}

/** A value with its unit. */
function measured(value, unit) {
  const text = number(value);
  return text === MISSING || !unit ? text : `${text} ${unit}`;
}
