#!/usr/bin/env python3
"""Recomputes bytes a day, life and price of the design that each study recommends (or names as nearest), and prints the
rows of the table of docs/studies.md. It shares no code with esker: of a study it takes what was simulated
(amplification, pages written, busy share), and everything else from the catalogue and the presets.

    check-verdicts.py STUDY.json...       exit status 1 if a figure differs by more than a thousandth"""
import json, pathlib, sys, tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent / "crates"
CATALOGUE = tomllib.loads((ROOT / "esker-catalogue/catalogues/current.toml").read_text())
KWH, PUE, HOURS, CAP_YEARS = 0.1249, 1.54, 8760, 100.0
number = lambda text: float(str(text).split()[0].rstrip("DWPTGBdy").replace("_", ""))
watts = lambda text: float(text[:-2]) / 1e3 if text.endswith("mW") else float(text[:-1])
value = lambda entry, key: entry[key] if isinstance(entry, dict) and key in entry else entry
three = lambda x, digits=3: f"{float(f'{x:.{digits}g}'):,.15g}"
wrong = 0

def life(design, product, sold, days_bytes, written, short):
    """Shortest and longest life in years, of every drive's flash: the next power of two of what is sold."""
    count, flash = design["count"], [d["flash"] for d in design["devices"].values() if d.get("flash")]
    raw = count * (1 << (sold - 1).bit_length())
    preset = tomllib.loads((ROOT / f"esker-flash/presets/ssd/{product['preset']}.toml").read_text())
    own = product.get("device", {}).get("endurance_cycles")
    random = max(1.0, flash[0]["precondition"]["write_amplification"]) if "precondition" in flash[0] else 1.0
    rating = value(product["endurance"], "rating")
    if isinstance(rating, dict):
        in_bytes = lambda size: number(size) * (1e12 if "TB" in size else 1e9)
        rating = next(one for size, one in rating.items() if abs(in_bytes(size) - sold) < 1)
    years = number(product["warranty"])
    fills = number(rating) * 365 * years if "DWPD" in rating else number(rating) * 1e12 / sold
    cycles = own or max(preset["endurance_cycles"], -(-fills * sold * count * random // raw))
    page = design["capacity_bytes"] / sum(f["pages"]["host"] for f in flash)
    per_byte = sum(f["host_page_writes"] for f in flash) * page / max(written, 1)
    measured = design["endurance"].get("write_amplification")
    judged = design["endurance"]["judged"]
    lasts = lambda wa, share: min(CAP_YEARS, raw * cycles / max(days_bytes * share * per_byte * wa, 1e-9) / 365)
    worst, best = (measured or 1.0,) * 2 if judged else (random, 1.0)
    return lasts(worst, 1.0), lasts(best, 1 / 3 if short else 1.0)

def same(row, what, mine, theirs):
    global wrong
    if abs(mine - theirs) > 1e-3 * max(abs(mine), abs(theirs), 1e-9):
        wrong += 1
        print(f"{row}: {what} is {mine:.6g} by this script, {theirs:.6g} by esker", file=sys.stderr)

for path in sys.argv[1:]:
    for work in json.loads(pathlib.Path(path).read_text())["workloads"]:
        verdict, profile, years = work["verdict"], work["profile"], work["budgets"]["years"]
        name = verdict["recommended"] or verdict.get("nearest")
        design = next((c for c in work["candidates"] if c["name"] == name), None)
        if not design or not work.get("busy_stretch"):
            print(f"| {work['name']} | {work['need']['capacity_bytes'] / 1e9:.3g} GB | no recommendation | | | | |")
            continue
        product, sold, row = CATALOGUE["product"][design["product"]["name"]], design["capacity_on_sale_bytes"], name
        price = product.get("price") or CATALOGUE["price_class"][product["class"]]
        bought = design["count"] * (number(price.get("per_unit", "0")) + number(price["per_TB"]) * sold / 1e12)
        draw, busy = product["power"], min(1.0, design["limits"][0]["utilisation"] if design["limits"] else 0.0)
        mean = watts(draw["idle"]) + busy * (watts(draw["active"]) - watts(draw["idle"]))
        power = mean * design["count"] * HOURS * years / 1e3 * KWH * PUE
        same(row, "price", bought + power, design["cost"]["total"])
        seconds, written = profile["duration_s"], profile["write_bytes"]
        per_day, lasts, words = written / seconds * 86400, None, "-"
        if design.get("endurance"):
            theirs, short = design["endurance"], seconds < 600
            same(row, "bytes a day", per_day, theirs["host_bytes_per_day"])
            low, high = life(design, product, sold, per_day, written, short)
            known = theirs.get("lifetime_range_years") or [theirs["lifetime_years"]] * (0 if short else 1)
            for mine, their in zip((low, high), known):
                same(row, "life", mine, their)
            more = "more than " if low >= CAP_YEARS or theirs["lifetime_is_lower_bound"] else ""
            words = f"{three(low, 2)} to {three(high, 2)} years" if short and low < CAP_YEARS else f"{more}{three(low)} years"
        said = design["title"] + ("" if verdict["recommended"] else " (nearest)")
        same_as = "".join(f" (= {equal})" for equal in verdict.get("equals", []))
        data, limit = work["need"]["capacity_bytes"] / 1e9, work["budgets"]["p99_us"] / 1e3
        print(f"| {work['name']} | {three(data)} GB, {three(limit)} ms | "
              f"{said}, {bought + power:,.0f} USD{same_as} | {design['busy']['response_time']['p99_us'] / 1e3:.2g} ms | "
              f"{three(per_day / 1e9)} GB | {words} |")
sys.exit(1 if wrong else 0)
