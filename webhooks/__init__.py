"""Everything that arrives by HTTP from machines; it ends at the inbox."""
