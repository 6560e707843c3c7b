//! The instructions that make stores durable, as far as the processor has them.

/// The instruction that writes a line back, best first. `clflushopt` and `clflush` also drop the line from the cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WriteBack {
    #[cfg(target_arch = "x86_64")]
    Clwb,
    #[cfg(target_arch = "x86_64")]
    Clflushopt,
    #[cfg(target_arch = "x86_64")]
    Clflush,
    /// A processor whose instructions we do not know: `msync` does it.
    #[cfg_attr(target_arch = "x86_64", allow(dead_code, reason = "of other processors"))]
    None,
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::WriteBack;
    use crate::layout::LINE;
    use std::arch::asm;
    use std::arch::x86_64::{__cpuid_count, __m128i, _mm_clflush, _mm_loadu_si128, _mm_sfence, _mm_stream_si128};

    impl WriteBack {
        pub(in super::super) fn of_this_processor() -> WriteBack {
            // Leaf 7: bit 24 of EBX is clwb, bit 23 clflushopt (Intel SDM, volume 2, CPUID).
            let features = __cpuid_count(7, 0).ebx;
            match (features >> 24 & 1, features >> 23 & 1) {
                (1, _) => WriteBack::Clwb,
                (_, 1) => WriteBack::Clflushopt,
                _ => WriteBack::Clflush,
            }
        }

        pub(in super::super) fn name(self) -> &'static str {
            match self {
                WriteBack::Clwb => "clwb",
                WriteBack::Clflushopt => "clflushopt",
                WriteBack::Clflush => "clflush",
                WriteBack::None => "msync",
            }
        }

        /// Writes back the lines with these bytes.
        ///
        /// # Safety
        /// The bytes are mapped.
        #[inline]
        pub(in super::super) unsafe fn lines(self, from: *const u8, length: usize) {
            let mut line = (from as usize & !(LINE as usize - 1)) as *const u8;
            let end = from as usize + length;
            while (line as usize) < end {
                // SAFETY: the line has at least one mapped byte, and a page has whole lines. The instructions change no
                // memory; the processor has them, as cpuid said.
                unsafe {
                    match self {
                        WriteBack::Clwb => asm!("clwb [{}]", in(reg) line, options(nostack, preserves_flags)),
                        WriteBack::Clflushopt => {
                            asm!("clflushopt [{}]", in(reg) line, options(nostack, preserves_flags))
                        }
                        WriteBack::Clflush | WriteBack::None => _mm_clflush(line),
                    }
                }
                line = line.wrapping_add(LINE as usize);
            }
        }
    }

    #[inline]
    pub(in super::super) fn fence() {
        // SAFETY: sfence is part of SSE, which every x86_64 processor has; it changes no memory.
        unsafe { _mm_sfence() }
    }

    /// Copies past the cache. What does not fill 16 aligned bytes is stored through the cache, and written back.
    ///
    /// # Safety
    /// Both have `length` bytes, and do not overlap.
    #[inline]
    pub(in super::super) unsafe fn copy_streaming(write_back: WriteBack, from: *const u8, to: *mut u8, length: usize) {
        let head = to.align_offset(16).min(length);
        let body = (length - head) & !15;
        let tail = length - head - body;
        // SAFETY: all offsets are within `length`; the body begins at a multiple of 16 bytes of `to`.
        unsafe {
            if head > 0 {
                std::ptr::copy_nonoverlapping(from, to, head);
                write_back.lines(to, head);
            }
            let (source, target) = (from.add(head).cast::<__m128i>(), to.add(head).cast::<__m128i>());
            let pieces = body / 16;
            // A line at a time. With 16 bytes at a time, a copy took 1.7 times as long where the compiler happened to
            // put the loop over two lines of the instruction cache.
            for line in 0..pieces / 4 {
                let (source, target) = (source.add(line * 4), target.add(line * 4));
                let loaded = [0, 1, 2, 3].map(|piece| _mm_loadu_si128(source.add(piece)));
                for (piece, loaded) in loaded.into_iter().enumerate() {
                    _mm_stream_si128(target.add(piece), loaded);
                }
            }
            for piece in pieces & !3..pieces {
                _mm_stream_si128(target.add(piece), _mm_loadu_si128(source.add(piece)));
            }
            if tail > 0 {
                std::ptr::copy_nonoverlapping(from.add(head + body), to.add(head + body), tail);
                write_back.lines(to.add(head + body), tail);
            }
        }
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{copy_streaming, fence};

#[cfg(not(target_arch = "x86_64"))]
mod other {
    use super::WriteBack;

    impl WriteBack {
        pub(in super::super) fn of_this_processor() -> WriteBack {
            WriteBack::None
        }

        pub(in super::super) fn name(self) -> &'static str {
            "msync"
        }

        /// Does nothing: `msync` writes.
        ///
        /// # Safety
        /// None is needed.
        pub(in super::super) unsafe fn lines(self, _from: *const u8, _length: usize) {}
    }

    pub(in super::super) fn fence() {}

    /// Copies.
    ///
    /// # Safety
    /// Both have `length` bytes, and do not overlap.
    pub(in super::super) unsafe fn copy_streaming(_: WriteBack, from: *const u8, to: *mut u8, length: usize) {
        // SAFETY: as the caller says.
        unsafe { std::ptr::copy_nonoverlapping(from, to, length) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) use other::{copy_streaming, fence};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg_attr(miri, ignore = "Miri has no such stores")]
    fn any_length_is_copied_from_anywhere_to_anywhere_and_nothing_else_changes() {
        let source: Vec<u8> = (0..400).map(|at| at as u8 | 1).collect();
        let write_back = WriteBack::of_this_processor();
        for (from, to) in [(0, 0), (0, 1), (3, 0), (5, 16), (7, 33), (1, 63), (16, 48)] {
            for length in 0..300 {
                let mut target = vec![0_u8; 400];
                // SAFETY: 63 and 299 are within 400; the vectors are two.
                unsafe {
                    let (source, target) = (source.as_ptr().add(from), target.as_mut_ptr().add(to));
                    copy_streaming(write_back, source, target, length);
                }
                fence();
                let mut expected = vec![0; 400];
                expected[to..to + length].copy_from_slice(&source[from..from + length]);
                assert_eq!(target, expected, "{length} bytes from {from} to {to}");
            }
        }
    }
}
