#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the handwritten digits of scikit-learn (1797 pictures of 8 x 8) as CSV: label, then 64 values from 0 to 1.

    scripts/export_digits.py digits.csv

Needs python3-sklearn; the pictures are part of that package, nothing is loaded from elsewhere.
"""
import os
import sys


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} FILE.csv")
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        print(f"skipped: {error}; install python3-sklearn")
        sys.exit(1)
    target = sys.argv[1]
    digits = load_digits()
    temporary = f"{target}.{os.getpid()}.partial"
    with open(temporary, "w", encoding="ascii") as out:
        out.write("label," + ",".join(f"pixel_{row}_{column}" for row in range(8) for column in range(8)) + "\n")
        for label, picture in zip(digits.target, digits.data):
            # Pixels count 0 to 16: sixteenths are exact in binary and short in decimal.
            out.write(f"{label}," + ",".join(f"{value / 16:.4f}".rstrip("0").rstrip(".") for value in picture) + "\n")
    os.replace(temporary, target)
    print(f"{len(digits.target)} pictures in {target}")


if __name__ == "__main__":
    main()
