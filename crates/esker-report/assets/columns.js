// The page's numbers: typed columns in base64, decoded when they are first asked for.

const storedColumns = JSON.parse(document.getElementById("columns").textContent);
const decodedColumns = [];

function column(index) {
  decodedColumns[index] ??= decodeColumn(storedColumns[index]);
  return decodedColumns[index];
}

function decodeColumn({ type, data }) {
  const bytes = Uint8Array.from(atob(data), (letter) => letter.charCodeAt(0));
  return type === "f64" ? new Float64Array(bytes.buffer) : new Float32Array(bytes.buffer);
}
