//! The meaning of columns.

use parquet::basic::{ConvertedType, LogicalType, TimeUnit, Type};
use parquet::column::reader::ColumnReader;
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::schema::types::{ColumnDescriptor, SchemaDescriptor};

/// What a column contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Time,
    Device,
    Operation,
    Offset,
    Length,
    Response,
}

/// Names of columns, the most usual ones first, with their role and the size of one unit in bytes.
const NAMES: &[(&str, Role, u64)] = &[
    ("ts", Role::Time, 1),
    ("timestamp", Role::Time, 1),
    ("time", Role::Time, 1),
    ("dev", Role::Device, 1),
    ("device", Role::Device, 1),
    ("volume", Role::Device, 1),
    ("disk", Role::Device, 1),
    ("lun", Role::Device, 1),
    ("device_id", Role::Device, 1),
    ("volume_id", Role::Device, 1),
    ("op", Role::Operation, 1),
    ("operation", Role::Operation, 1),
    ("opcode", Role::Operation, 1),
    ("type", Role::Operation, 1),
    ("iotype", Role::Operation, 1),
    ("rw", Role::Operation, 1),
    ("off", Role::Offset, 1),
    ("offset", Role::Offset, 1),
    ("lba", Role::Offset, 512),
    ("lbn", Role::Offset, 512),
    ("sector", Role::Offset, 512),
    ("len", Role::Length, 1),
    ("length", Role::Length, 1),
    ("size", Role::Length, 1),
    ("sectors", Role::Length, 512),
    ("lat", Role::Response, 1),
    ("latency", Role::Response, 1),
    ("response", Role::Response, 1),
    ("response_time", Role::Response, 1),
];

const UNITS: &[(&str, u64)] = &[("_ns", 1), ("_us", 1_000), ("_ms", 1_000_000), ("_s", 1_000_000_000)];

/// A column to be read. Its values are whole numbers times `unit` (nanoseconds or bytes), floating-point numbers times
/// `unit`, or text.
#[derive(Clone, Debug)]
pub(super) struct Column {
    pub(super) role: Role,
    pub(super) index: usize,
    pub(super) name: String,
    pub(super) unit: u64,
    pub(super) nullable: bool,
    unsigned: bool,
}

/// Finds the columns about requests. The error names what is missing.
pub(super) fn find(schema: &SchemaDescriptor) -> Result<Vec<Column>, String> {
    let mut columns = Vec::new();
    for role in [Role::Time, Role::Device, Role::Operation, Role::Offset, Role::Length, Role::Response] {
        let names = NAMES.iter().filter(|(_, of, _)| *of == role);
        let mut fits = names.filter_map(|(name, _, scale)| {
            schema.columns().iter().enumerate().find_map(|(index, column)| fit(column, index, role, name, *scale))
        });
        let first = fits.next();
        // A readable column is better than an unreadable one with a more usual name.
        let found = match first {
            Some(Err(_)) => fits.find(|fit| fit.is_ok()).or(first),
            first => first,
        };
        match found.transpose()? {
            Some(column) => columns.push(column),
            None if matches!(role, Role::Operation | Role::Offset | Role::Length) => {
                let there: Vec<&str> = schema.columns().iter().map(|column| column.name()).collect();
                let wanted: Vec<&str> = NAMES.iter().filter(|(_, of, _)| *of == role).map(|(name, ..)| *name).collect();
                return Err(format!("no column {} among {}", wanted.join(", "), there.join(", ")));
            }
            None => {}
        }
    }
    Ok(columns)
}

/// Whether `descriptor` is the column called `name`. The error tells why it cannot be read.
fn fit(
    descriptor: &ColumnDescriptor,
    index: usize,
    role: Role,
    name: &str,
    scale: u64,
) -> Option<Result<Column, String>> {
    let found = descriptor.name().to_ascii_lowercase();
    let timed = matches!(role, Role::Time | Role::Response);
    let suffix = found.strip_prefix(name)?;
    let by_name = UNITS.iter().find(|(unit, _)| timed && *unit == suffix).map(|(_, nanos)| *nanos);
    if !suffix.is_empty() && by_name.is_none() {
        return None;
    }
    let bad = |what: &str| Some(Err(format!("a column `{}` {what}", descriptor.name())));
    if descriptor.max_rep_level() > 0 || descriptor.path().parts().len() > 1 {
        return bad("that is nested");
    }
    let by_type = match descriptor.logical_type_ref() {
        Some(LogicalType::Timestamp(stamp)) => Some(match stamp.unit {
            TimeUnit::MILLIS => 1_000_000,
            TimeUnit::MICROS => 1_000,
            TimeUnit::NANOS => 1,
        }),
        _ => match descriptor.converted_type() {
            ConvertedType::TIMESTAMP_MILLIS => Some(1_000_000),
            ConvertedType::TIMESTAMP_MICROS => Some(1_000),
            _ => None,
        },
    };
    let kind = descriptor.physical_type();
    let unit = match (kind, timed) {
        (Type::INT32 | Type::INT64, false) => scale,
        (Type::BYTE_ARRAY, false) if matches!(role, Role::Device | Role::Operation) => scale,
        (Type::DOUBLE | Type::FLOAT, true) => by_name.unwrap_or(1_000_000_000),
        (Type::INT32 | Type::INT64, true) => match by_type.or(by_name) {
            Some(unit) => unit,
            None => return bad("without a unit: call it with _ns, _us, _ms or _s"),
        },
        _ => return bad(&format!("of type {kind}")),
    };
    let unsigned = match descriptor.logical_type_ref() {
        Some(LogicalType::Integer(integer)) => !integer.is_signed,
        _ => matches!(
            descriptor.converted_type(),
            ConvertedType::UINT_8 | ConvertedType::UINT_16 | ConvertedType::UINT_32 | ConvertedType::UINT_64
        ),
    };
    let nullable = descriptor.max_def_level() > 0;
    Some(Ok(Column { role, index, name: descriptor.name().to_string(), unit, nullable, unsigned }))
}

/// Values of some rows of one column.
pub(super) enum Values {
    Int32(Vec<i32>),
    Int64(Vec<i64>),
    Float(Vec<f32>),
    Double(Vec<f64>),
    Text(Vec<ByteArray>),
}

/// Reads a column of one row group.
pub(super) struct Rows {
    pub(super) column: Column,
    reader: ColumnReader,
    values: Values,
    /// 1 if the row has a value, 0 if it is null.
    levels: Vec<i16>,
    next: usize,
    next_value: usize,
}

/// One value of a row.
pub(super) enum Value<'a> {
    Null,
    /// In the column's unit.
    Whole(u64),
    Negative(i64),
    Real(f64),
    Text(&'a [u8]),
}

impl Rows {
    pub(super) fn new(column: Column, reader: ColumnReader) -> Result<Self, ParquetError> {
        let values = match &reader {
            ColumnReader::Int32ColumnReader(_) => Values::Int32(Vec::new()),
            ColumnReader::Int64ColumnReader(_) => Values::Int64(Vec::new()),
            ColumnReader::FloatColumnReader(_) => Values::Float(Vec::new()),
            ColumnReader::DoubleColumnReader(_) => Values::Double(Vec::new()),
            ColumnReader::ByteArrayColumnReader(_) => Values::Text(Vec::new()),
            _ => return Err(ParquetError::General(format!("column {} has another type than the schema", column.name))),
        };
        Ok(Self { column, reader, values, levels: Vec::new(), next: 0, next_value: 0 })
    }

    /// Reads up to `count` rows. Returns how many were read.
    pub(super) fn read(&mut self, count: usize) -> Result<usize, ParquetError> {
        self.levels.clear();
        (self.next, self.next_value) = (0, 0);
        let levels = self.column.nullable.then_some(&mut self.levels);
        let (rows, ..) = match (&mut self.reader, &mut self.values) {
            (ColumnReader::Int32ColumnReader(reader), Values::Int32(values)) => {
                values.clear();
                reader.read_records(count, levels, None, values)?
            }
            (ColumnReader::Int64ColumnReader(reader), Values::Int64(values)) => {
                values.clear();
                reader.read_records(count, levels, None, values)?
            }
            (ColumnReader::FloatColumnReader(reader), Values::Float(values)) => {
                values.clear();
                reader.read_records(count, levels, None, values)?
            }
            (ColumnReader::DoubleColumnReader(reader), Values::Double(values)) => {
                values.clear();
                reader.read_records(count, levels, None, values)?
            }
            (ColumnReader::ByteArrayColumnReader(reader), Values::Text(values)) => {
                values.clear();
                reader.read_records(count, levels, None, values)?
            }
            _ => unreachable!("values were made for the reader"),
        };
        Ok(rows)
    }

    /// Takes the value of the next row.
    pub(super) fn next(&mut self) -> Value<'_> {
        let there = !self.column.nullable || self.levels.get(self.next).is_some_and(|level| *level > 0);
        self.next += 1;
        if !there {
            return Value::Null;
        }
        let at = self.next_value;
        self.next_value += 1;
        let unsigned = self.column.unsigned;
        let whole = |value: i64| match u64::try_from(value) {
            Ok(value) => Value::Whole(value),
            Err(_) if unsigned => Value::Whole(value as u64),
            Err(_) => Value::Negative(value),
        };
        match &self.values {
            Values::Int32(values) if unsigned => {
                values.get(at).map_or(Value::Null, |v| Value::Whole(u64::from(*v as u32)))
            }
            Values::Int32(values) => values.get(at).map_or(Value::Null, |value| whole(i64::from(*value))),
            Values::Int64(values) => values.get(at).map_or(Value::Null, |value| whole(*value)),
            Values::Float(values) => values.get(at).map_or(Value::Null, |value| Value::Real(f64::from(*value))),
            Values::Double(values) => values.get(at).map_or(Value::Null, |value| Value::Real(*value)),
            Values::Text(values) => values.get(at).map_or(Value::Null, |value| match value.is_empty() {
                true => Value::Text(b""),
                false => Value::Text(value.data()),
            }),
        }
    }
}
