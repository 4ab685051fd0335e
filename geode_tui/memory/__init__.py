"""What is remembered beside a conversation: the five tiers, what is added to them, and the journal and the vault.

It is assembled only when it is asked for; nothing of a run's prompt comes from here (RUNTIME.md 6).
"""
