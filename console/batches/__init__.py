"""The pages of lists that become mails."""
