"""Options that several commands share, in groups, and the parsing of their values."""
