"""The report: numbers in one pure step (`summary`), pictures in another (`charts`),
one HTML file (`page`).
"""

from knockoffs.report.page import write_report

__all__ = ["write_report"]
