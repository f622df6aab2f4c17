"""The paper's tables, figures and theory, computed again with the package `dsrs`.

Run as `python -m reproduction tables|figures|theory|opt|time` from the root of the repository. Two
more parts are methods that the package does without: first-order certificates (`first_order`),
registered from outside, and noise that is round in l1 or l-infinity (`norms`, appendix F.3).
"""
