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
            """        return f'The query to "{_without_secrets(self.place)}"'\n""",
            """        return f'The query to "{self.place}"'\n""",
        ),
        f"{DATABASES}test_a_database_is_named_without_its_password",
    ),
    one(
        "a-password-with-a-slash-told",
        31,
        "of a URL that can be read in two ways, a message shows one",
        (
            "source/databases.py",
            """    return place.partition("://")[0] + "://…" if found is None else""",
            "    return place if found is None else",
        ),
        f"{DATABASES}test_a_password_with_marks_of_its_own_is_not_told_either",
    ),
]
