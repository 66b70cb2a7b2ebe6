# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""From a program to a kernel that has been proved, executed and measured against its reference."""
