"""The command of ``manage.py``."""
