//! The floor of everything durable: 20 KB of a file that is as long as it will be are written over, and
//! `fdatasync` returns. What a commit of one entry writes is about as much. Knows nothing of what stands on it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::Instant;

use crate::stats;

/// Bytes written at once.
pub(crate) const BYTES: usize = 20 << 10;
/// Bytes of the file; it is written over from its beginning to its end, again and again.
const FILE_BYTES: u64 = 4 << 20;
/// Samples of one median.
const SAMPLES: usize = 60;

/// A file whose writes are the floor.
pub(crate) struct Floor {
    file: File,
    at: u64,
    bytes: Vec<u8>,
}

impl Floor {
    /// Makes the file, as long as it will be, and on the disk.
    pub(crate) fn open(folder: &Path) -> io::Result<Floor> {
        let file = File::create(folder.join("floor"))?;
        let bytes = vec![0x5a; BYTES];
        let mut floor = Floor { file, at: 0, bytes };
        for _ in 0..FILE_BYTES / BYTES as u64 {
            floor.write()?;
        }
        floor.file.sync_all()?;
        floor.at = 0;
        Ok(floor)
    }

    /// One write and its `fdatasync`, in microseconds.
    pub(crate) fn once(&mut self) -> io::Result<f64> {
        let since = Instant::now();
        self.write()?;
        self.file.sync_data()?;
        Ok(since.elapsed().as_secs_f64() * 1e6)
    }

    /// The median of some, in microseconds.
    pub(crate) fn median_us(&mut self) -> io::Result<f64> {
        let samples = (0..SAMPLES).map(|_| self.once()).collect::<io::Result<Vec<f64>>>()?;
        Ok(stats::median(&samples))
    }

    fn write(&mut self) -> io::Result<()> {
        if self.at + BYTES as u64 > FILE_BYTES {
            self.at = 0;
        }
        self.file.write_all_at(&self.bytes, self.at)?;
        self.at += BYTES as u64;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_stays_as_long_as_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut floor = Floor::open(folder.path()).unwrap();
        let length = || std::fs::metadata(folder.path().join("floor")).unwrap().len();
        let before = length();
        for _ in 0..FILE_BYTES / BYTES as u64 + 3 {
            floor.write().unwrap();
        }
        assert_eq!((length(), before % BYTES as u64), (before, 0));
        assert!(floor.once().unwrap() > 0.0);
    }
}
