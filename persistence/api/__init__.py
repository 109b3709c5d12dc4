"""What other systems keep here through the API, each company's apart."""
