"""Charts as markup: drawn on this side, so that a page needs no script, and styled by the page's own sheet.

Text is HTML beside the drawing wherever it can be, so that a narrow screen shrinks the picture and not the letters.
"""
