"""An agent that somebody else wrote: what its author sees, how it is found, and where its code runs."""
