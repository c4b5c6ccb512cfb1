"""What a statistician compares two tables by: columns, pairs, groups, predictions, single records.

NOT PRIVATE where one of the tables is: everything that this package returns then says something exact about it.
"""
