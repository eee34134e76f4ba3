"""What limits a node: arithmetic, memory traffic or neither, by the machine's peak rates.

The more arithmetic per byte, the more of the arithmetic peak is reachable; below the ridge, where
both peaks meet, memory is the limit. A node far below its limit spends its time elsewhere: in being
started, in sizes that are too small, in waiting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from modeldyno.core import figures

if TYPE_CHECKING:  # its documents would take a tenth of what a command needs to start
    from modeldyno.core.documents.hosts import Peak, Peaks

Bound = Literal["compute", "memory", "overhead"]
PeaksOf = Callable[[str], "Peaks | None"]  # by the fingerprint of a machine

REACHED = 0.3  # share of a peak below which something else is the limit
HOW = "run `modeldyno doctor --peaks` to see what limits each of them"


@dataclass(frozen=True)
class Roof:
    """The peaks of a number of cores; None if unknown. ``text`` says where they come from."""

    text: str
    flops_per_s: float | None = None
    bytes_per_s: float | None = None

    @property
    def ridge(self) -> float | None:
        """FLOP per byte."""
        if self.flops_per_s is None or not self.bytes_per_s:
            return None
        return self.flops_per_s / self.bytes_per_s


@dataclass(frozen=True)
class Held:
    """One or several nodes compared with a roof."""

    flops_per_s: float | None = None  # None, too: more than the machine was measured to reach
    bytes_per_s: float | None = None
    flop_per_byte: float | None = None
    bound: Bound | None = None
    reason: str = ""


def find_roof(peaks: Peaks | None, cores: int, device: str) -> Roof:
    if device.partition(":")[0] != "cpu":
        return Roof(f"peaks are measured of the CPU, not of {device}")
    if peaks is None:
        return Roof(f"the machine's peaks are not known: {HOW}")
    peak, how = _find_peak(peaks, cores)
    noisy = "" if peak.noise == "quiet" else f", measured {peak.noise}: more may be possible"
    return Roof(
        f"peaks of {figures.counted(cores, 'core')}{how}: "
        f"{_giga_text(peak.flops_per_s)}FLOP/s in fp32, "
        f"{_giga_text(peak.bytes_per_s)}B/s, as {peaks.engine} reached them{noisy}",
        peak.flops_per_s,
        peak.bytes_per_s,
    )


def no_peaks(fingerprint: str) -> Peaks | None:
    return None


def _find_peak(peaks: Peaks, cores: int) -> tuple[Peak, str]:
    """The peak of this number of cores, interpolated between the measured ones."""
    ranked = sorted(peaks.peaks, key=lambda peak: peak.cores)
    above = next((peak for peak in ranked if peak.cores >= cores), ranked[-1])
    below = next((peak for peak in reversed(ranked) if peak.cores <= cores), ranked[0])
    if above.cores == below.cores:
        return above, "" if above.cores == cores else f", as of {above.cores}"
    part = (cores - below.cores) / (above.cores - below.cores)
    made = replace(
        above,
        cores=cores,
        flops_per_s=below.flops_per_s + part * (above.flops_per_s - below.flops_per_s),
        bytes_per_s=below.bytes_per_s + part * (above.bytes_per_s - below.bytes_per_s),
        noise=above.noise if above.noise != "quiet" else below.noise,
    )
    return made, f", between those of {below.cores} and {above.cores}"


def compare_to_roof(
    flop: float | None, moved: float | None, seconds: float, roof: Roof, unknown: str = ""
) -> Held:
    """``flop`` and ``moved`` bytes are those of ``seconds``; ``unknown`` says why that is not
    known."""
    if unknown:
        return Held(reason=f"its time is not known: {unknown}")
    if seconds <= 0:
        return Held(reason="it took no time that the profiler could see")
    rate = None if flop is None else flop / seconds
    speed = None if moved is None else moved / seconds
    intensity = flop / moved if flop is not None and moved else None
    bound, reason = _find_bound(rate, speed, intensity, roof)
    return Held(
        _up_to(rate, roof.flops_per_s), _up_to(speed, roof.bytes_per_s), intensity, bound, reason
    )


def _up_to(rate: float | None, peak: float | None) -> float | None:
    """A rate above the peak is none of the machine: caches, other arithmetic, or a time that is too
    short."""
    return None if rate is None or (peak is not None and rate > peak) else rate


def _find_bound(
    rate: float | None, speed: float | None, intensity: float | None, roof: Roof
) -> tuple[Bound | None, str]:
    if rate is None and speed is None:
        return None, "its work is not known"
    if not roof.flops_per_s or not roof.bytes_per_s:
        return None, roof.text
    if rate == 0 and speed == 0:
        return "overhead", "no arithmetic, and nothing that must move"
    computes = None if rate is None else rate / roof.flops_per_s
    moves = None if speed is None else speed / roof.bytes_per_s
    reason = _explain_bound(rate, computes, speed, moves, intensity, roof)
    most = max(share for share in (computes, moves) if share is not None)
    if most >= REACHED:
        # Caches may exceed the memory peak; then they are not the limit.
        is_cached = moves is not None and moves > 1 and (computes or 0.0) >= REACHED
        return ("compute" if most == computes or is_cached else "memory"), reason
    if computes is None or moves is None:
        lacking = "arithmetic" if computes is None else "bytes"
        return None, f"{reason}; its {lacking} cannot be determined"
    return "overhead", f"{reason}; the rest is starting, waiting, or a kernel that is slow"


def _explain_bound(
    rate: float | None,
    computes: float | None,
    speed: float | None,
    moves: float | None,
    intensity: float | None,
    roof: Roof,
) -> str:
    """``61.2 GFLOP/s, 71 % of the peak; 4.3 GB/s, 22 %; 14 FLOP per byte, memory's below 4.4``."""
    parts = []
    if rate is not None and computes is not None:
        above = ", in other arithmetic or a time too short to trust" if computes > 1 else ""
        parts.append(f"{_giga_text(rate)}FLOP/s, {figures.percent(computes)} of the peak{above}")
    if speed is not None and moves is not None:
        cached = ", out of caches or in a time too short to trust" if moves > 1 else ""
        parts.append(f"{_giga_text(speed)}B/s, {figures.percent(moves)} of the peak{cached}")
    if intensity is not None and roof.ridge is not None:
        ridge = figures.plain(roof.ridge)
        parts.append(f"{figures.plain(intensity)} FLOP per byte (peaks meet at {ridge})")
    return "; ".join(parts)


def _giga_text(number: float) -> str:
    return f"{figures.plain(number / 1e9)} G"
