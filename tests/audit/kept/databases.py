"""Kept mutants of queries to databases: one value decides how others are read, a message shows what is secret."""

from __future__ import annotations

from audit.mutant import one

DATABASES = "tests/source/test_databases.py::"

MUTANTS = [
    one(
        "one-text-makes-all-texts-in-sqlite",
        27,
        "where one value of a batch is text, all are spelled as text",
        (
            "source/databases.py",
            "tuple(Objects(column) for column in zip(*rows, strict=True)))",
            "tuple(Objects([str(v) for v in c] if any(isinstance(v, str) for v in c) else c) for c in zip(*rows)))",
        ),
        f"{DATABASES}test_sqlite_values_of_any_type_are_read_alone",
    ),
    one(
        "passwords-of-databases-told",
        31,
        "a message shows the user and password of a database's URL",
        (
            "source/databases.py",
            """        return f'The query to "{_SECRET.sub("", self.place)}"'\n""",
            """        return f'The query to "{self.place}"'\n""",
        ),
        f"{DATABASES}test_a_database_is_named_without_its_password",
    ),
]
