"""The paper's tables, figures and theory, computed again; only the commands import this room."""
