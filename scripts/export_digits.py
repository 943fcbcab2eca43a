#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the handwritten digits of scikit-learn (1797 pictures of 8 x 8) as CSV: label, then 64 values from 0 to 1;
or as MNIST's four IDX files: every point three by three, a border of two, 28 x 28, every fifth picture for testing.

    scripts/export_digits.py digits.csv
    scripts/export_digits.py --idx FOLDER

Needs python3-sklearn; the pictures are part of that package, nothing is loaded from elsewhere.
"""
import os
import struct
import sys


def replace(target, content):
    temporary = f"{target}.{os.getpid()}.partial"
    with open(temporary, "wb") as out:
        out.write(content)
    os.replace(temporary, target)


def csv(digits):
    lines = ["label," + ",".join(f"pixel_{row}_{column}" for row in range(8) for column in range(8))]
    for label, picture in zip(digits.target, digits.data):
        # Pixels count 0 to 16: sixteenths are exact in binary and short in decimal.
        lines.append(f"{label}," + ",".join(f"{value / 16:.4f}".rstrip("0").rstrip(".") for value in picture))
    return "".join(line + "\n" for line in lines).encode("ascii")


def enlarged(picture):
    """Bytes of 28 x 28 points from 8 x 8 counts of 0 to 16."""
    rows = [bytes(28)] * 2
    for row in picture.reshape(8, 8):
        points = b"".join(bytes([round(value * 255 / 16)]) * 3 for value in row)
        rows += [bytes(2) + points + bytes(2)] * 3
    return b"".join(rows + [bytes(28)] * 2)


def write_idx(digits, folder):
    os.makedirs(folder, exist_ok=True)
    for part, for_testing in (("train", False), ("t10k", True)):
        chosen = [i for i in range(len(digits.target)) if (i % 5 == 4) == for_testing]
        pictures = b"".join(enlarged(digits.data[i]) for i in chosen)
        labels = bytes(int(digits.target[i]) for i in chosen)
        replace(f"{folder}/{part}-images-idx3-ubyte", struct.pack(">4i", 0x803, len(chosen), 28, 28) + pictures)
        replace(f"{folder}/{part}-labels-idx1-ubyte", struct.pack(">2i", 0x801, len(chosen)) + labels)


def main():
    idx = len(sys.argv) == 3 and sys.argv[1] == "--idx"
    if len(sys.argv) != 2 and not idx:
        sys.exit(f"usage: {sys.argv[0]} FILE.csv, or --idx FOLDER")
    try:
        from sklearn.datasets import load_digits
    except ImportError as error:
        print(f"skipped: {error}; install python3-sklearn")
        sys.exit(1)
    target = sys.argv[-1]
    digits = load_digits()
    if idx:
        write_idx(digits, target)
    else:
        replace(target, csv(digits))
    print(f"{len(digits.target)} pictures in {target}")


if __name__ == "__main__":
    main()
