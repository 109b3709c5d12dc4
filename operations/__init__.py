"""What staff and operators may do to companies, people, notes and numbers; each leaves an audit."""
