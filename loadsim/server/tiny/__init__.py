"""A tiny hybrid language model of our own: written on first use, it babbles in the words of a recording's agent."""
