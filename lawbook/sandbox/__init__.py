"""The one sandbox and the processes that run untrusted programs. Start with Host."""
