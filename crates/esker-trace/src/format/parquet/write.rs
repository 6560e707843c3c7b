//! Turns records into rows.

use std::io;
use std::sync::{Arc, Mutex};

use parquet::basic::{Compression, Encoding, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::ColumnPath;

use crate::writer::{RecordWriter, Target};
use crate::{Operation, Record};

/// Rows of a row group, which are held in memory.
const GROUP: usize = 256 << 10;

const SCHEMA: &str = "message trace {
    required int64 ts_ns;
    required binary dev (utf8);
    required binary op (utf8);
    required int64 off (uint_64);
    required int32 len (uint_32);
    optional int64 lat_ns;
}";

/// Receives the bytes of the file writer; they are then moved to the output of the trace.
#[derive(Clone, Default)]
struct Pipe(Arc<Mutex<Vec<u8>>>);

impl io::Write for Pipe {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("nobody panics with it").extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

struct Writer {
    pipe: Pipe,
    file: Option<SerializedFileWriter<Pipe>>,
    names: Vec<ByteArray>,
    rows: Vec<Record>,
}

pub(super) fn writer() -> Box<dyn RecordWriter> {
    let pipe = Pipe::default();
    let times = ColumnPath::from("ts_ns");
    let properties = WriterProperties::builder()
        .set_compression(Compression::ZSTD(ZstdLevel::default()))
        .set_column_dictionary_enabled(times.clone(), false)
        .set_column_encoding(times, Encoding::DELTA_BINARY_PACKED)
        .set_created_by(concat!("esker ", env!("CARGO_PKG_VERSION")).to_string())
        .build();
    let schema = Arc::new(parse_message_type(SCHEMA).expect("the schema is right"));
    let file = SerializedFileWriter::new(pipe.clone(), schema, Arc::new(properties)).expect("a buffer can be written");
    Box::new(Writer { pipe, file: Some(file), names: Vec::new(), rows: Vec::with_capacity(GROUP) })
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Pipe>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(values, levels, None)?;
    column.close()
}

impl Writer {
    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let mut group = self.file.as_mut().expect("the file ends last").next_row_group()?;
        let rows = &self.rows;
        let column_of = |value: fn(&Record) -> i64| rows.iter().map(value).collect::<Vec<i64>>();
        let names = ["read", "write", "trim", "flush"].map(ByteArray::from);
        let operation = |record: &Record| match record.operation {
            Operation::Read => names[0].clone(),
            Operation::Write => names[1].clone(),
            Operation::Trim => names[2].clone(),
            Operation::Flush => names[3].clone(),
        };
        column::<Int64Type>(&mut group, &column_of(|record| record.at.0 as i64), None)?;
        let devices: Vec<ByteArray> = rows.iter().map(|record| self.names[record.volume.0 as usize].clone()).collect();
        column::<ByteArrayType>(&mut group, &devices, None)?;
        column::<ByteArrayType>(&mut group, &rows.iter().map(operation).collect::<Vec<_>>(), None)?;
        column::<Int64Type>(&mut group, &column_of(|record| record.offset as i64), None)?;
        column::<Int32Type>(&mut group, &rows.iter().map(|record| record.length as i32).collect::<Vec<_>>(), None)?;
        let responses: Vec<i64> = rows.iter().filter_map(|record| Some(record.response?.0 as i64)).collect();
        let levels: Vec<i16> = rows.iter().map(|record| i16::from(record.response.is_some())).collect();
        column::<Int64Type>(&mut group, &responses, Some(&levels))?;
        group.close()?;
        self.rows.clear();
        Ok(())
    }

    fn drain(&self, output: &mut Vec<u8>) {
        output.append(&mut self.pipe.0.lock().expect("nobody panics with it"));
    }
}

impl RecordWriter for Writer {
    fn volume(&mut self, _: &mut Vec<u8>, target: Target<'_>) {
        self.names.push(ByteArray::from(target.name));
    }

    fn record(&mut self, output: &mut Vec<u8>, record: &Record, _: Target<'_>) -> io::Result<()> {
        self.rows.push(*record);
        if self.rows.len() == GROUP {
            self.write_group().map_err(io::Error::other)?;
            self.drain(output);
        }
        Ok(())
    }

    fn end(&mut self, output: &mut Vec<u8>) -> io::Result<()> {
        self.write_group().map_err(io::Error::other)?;
        if let Some(file) = self.file.take() {
            file.close().map_err(io::Error::other)?;
        }
        self.drain(output);
        Ok(())
    }
}
