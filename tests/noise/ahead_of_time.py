"""Compiles the fused kernels for a device that need not be here, and prints their operations."""

from __future__ import annotations

import re
import sys
from typing import Any

from triton import compile as compiled
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from dsrs.noise import fused_kernels

POINTERS = {"out": "*fp32", "key": "*i64"}
NUMBERS = {"first": "i64", "count": "i32", "d": "i32", "channels": "i32", "width": "i32"}
TILE = {"ROWS": 8, "FOLDS": 8, "WIDTH": 16}
KERNELS: tuple[tuple[Any, dict[str, Any]], ...] = (
    (
        fused_kernels.make,
        {"STORES": True, "ADDS": True, "OWN_SCALE": False, "HALF_PRECISION": False},
    ),
    (
        fused_kernels.make,
        {"STORES": True, "ADDS": False, "OWN_SCALE": True, "HALF_PRECISION": True},
    ),
    (fused_kernels.add_squares, {}),
    (fused_kernels.finish, {"GAUSSIAN": True}),
    (fused_kernels.finish, {"GAUSSIAN": False}),
)


def main(capability: int) -> None:
    """Print every operation on float64 that the kernels have on a device of this capability."""
    operations: set[str] = set()
    for kernel, own in KERNELS:
        constants = {
            name: value for name, value in (own | TILE).items() if name in kernel.arg_names
        }
        pointers = POINTERS | ({"out": "*i16"} if own.get("HALF_PRECISION") else {})
        signature = {
            name: "constexpr"
            if name in constants
            else NUMBERS.get(name, pointers.get(name, "*fp64"))
            for name in kernel.arg_names
        }
        source = ASTSource(fn=kernel, signature=signature, constexprs=constants)
        target = GPUTarget("cuda", capability, 32)
        made = compiled(source, target=target, options={"enable_fp_fusion": False})
        operations |= set(re.findall(r"\b([a-z]+(?:\.[a-z]+)*\.f64)\b", made.asm["ptx"]))
        assert made.asm["cubin"], "the assembler made nothing"
    print(*sorted(operation for operation in operations if not operation.startswith("cvt")))


if __name__ == "__main__":
    main(int(sys.argv[1]))
