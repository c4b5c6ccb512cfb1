"""Kept mutants of the tasks of Spark: persons that are not held to their limit, errors that tell rows."""

from __future__ import annotations

from audit.mutant import one

SPARK = "tests/source/test_spark.py::"

MUTANTS = [
    one(
        "spark-holds-nobody",
        16,
        "Spark's executors use every row of a person",
        (
            "source/spark_tasks.py",
            "            used = Limit(Census.of([marks.take(~missing)], self.most), self.most).used(marks, missing)\n",
            "            used = np.ones(len(missing), bool)\n",
        ),
        f"{SPARK}test_a_bucket_keeps_so_many_rows_of_each_person_and_all_of_nobodys",
    ),
    one(
        "spark-scatters-persons",
        16,
        "the rows of a person go to several buckets, each of which uses so many",
        ("source/spark_tasks.py", "np.where(missing, rank, first ^ scrambled(second))", "rank"),
        f"{SPARK}test_a_bucket_keeps_so_many_rows_of_each_person_and_all_of_nobodys",
    ),
    one(
        "spark-tells-rows",
        31,
        "an error in a task of Spark quotes the rows that it was about",
        (
            "source/spark_tasks.py",
            '        with guarded("The Spark table"):\n            tally = Tally',
            "        if True:\n            tally = Tally",
        ),
        f"{SPARK}test_a_task_that_fails_tells_nothing_of_the_rows",
    ),
]
