"""One turn of a conversation: what arrived, what it means, what is decided, one commit of all that follows."""
