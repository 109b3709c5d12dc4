"""Conversations: live sessions, snapshots, and what is known of who speaks."""
