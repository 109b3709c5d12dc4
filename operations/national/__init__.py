"""What is done for companies of the national channel by themselves."""
