#!/usr/bin/env python3
"""Draws a timeline that `mpisim run --trace FILE` wrote as an SVG, for documents.

    python3 tools/timeline/draw.py FILE.pftrace [FROM_US TO_US] > timeline.svg

A row for each track that has a slice in the window, the slices with their names where they fit, and a line
from the end of each cause to its effect on another track. It reads the file itself (Perfetto's protocol
buffers: the fields that `src/report/timeline.rs` writes) and needs nothing but Python.
"""

import sys
from html import escape

ROW, LEFT, WIDTH, TOP = 22, 210, 900, 46
# The colours of the figures (`src/report/figure/marks.rs`): readable by the colour-blind.
COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#999999", "#f0e442"]


def varint(data, at):
    value, shift = 0, 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def fields(data):
    """The fields of a message: number and value."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, kind = key >> 3, key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 1:
            value, at = int.from_bytes(data[at : at + 8], "little"), at + 8
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            raise ValueError(f"wire type {kind}: this is no trace of mpisim")
        yield number, value


def read(data):
    """Tracks by id, and slices [track, name, begin, end, flows out, flows in] in picoseconds."""
    tracks, slices, open_on = {}, [], {}
    for number, packet in fields(data):
        if number != 1:
            continue
        packet = list(fields(packet))
        for descriptor in (value for key, value in packet if key == 60):
            track = dict(fields(descriptor))
            tracks[track[1]] = (track.get(2, b"").decode(), track.get(5))
        for event in (value for key, value in packet if key == 11):
            event = list(fields(event))
            one = dict(event)
            if one.get(9) != 1:
                continue
            notes = [dict(fields(value)) for key, value in event if key == 4]
            times = {note[10].decode(): note.get(3, 0) for note in notes}
            flows = [[value for key, value in event if key == flow] for flow in (47, 48)]
            name = one.get(23, b"").decode()
            slices.append([one[11], name, times["from_ps"], times["to_ps"], *flows])
    return tracks, slices


def svg(tracks, slices, begin, end):
    shown = [one for one in slices if one[2] < end and one[3] > begin]
    used = {one[0] for one in shown}
    rows = {track: row for row, track in enumerate(id for id in tracks if id in used)}
    names = sorted({one[1] for one in shown}, key=lambda name: [one[1] for one in shown].index(name))
    colour = {name: COLOURS[index % len(COLOURS)] for index, name in enumerate(names)}
    place = lambda time: LEFT + (min(max(time, begin), end) - begin) / (end - begin) * WIDTH
    height = TOP + ROW * len(rows) + 44
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {LEFT + WIDTH + 20} {height}" '
        'font-family="sans-serif" font-size="11">',
        f'<rect width="{LEFT + WIDTH + 20}" height="{height}" fill="#ffffff"/>',
    ]
    step = next(s for d in range(15) for s in (10**d, 2 * 10**d, 5 * 10**d) if (end - begin) / s <= 10)
    for time in range(begin + -begin % step, end + 1, step):
        x = place(time)
        out.append(f'<line x1="{x:.1f}" y1="{TOP - 6}" x2="{x:.1f}" y2="{height - 38}" stroke="#dddddd"/>')
        out.append(f'<text x="{x:.1f}" y="{TOP - 12}" text-anchor="middle" fill="#666666">{time / 1e6:g} us</text>')
    for track, row in rows.items():
        y = TOP + ROW * row
        name, parent = tracks[track]
        group = tracks.get(parent, ("", None))[0]
        label = f"{group}: {name}" if parent in rows else name
        out.append(f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end" fill="#333333">{escape(label)}</text>')
        out.append(f'<line x1="{LEFT}" y1="{y + ROW}" x2="{LEFT + WIDTH}" y2="{y + ROW}" stroke="#eeeeee"/>')
    starts = {}
    for track, name, first, last, flows, _ in shown:
        x, y, width = place(first), TOP + ROW * rows[track] + 3, max(place(last) - place(first), 0.8)
        out.append(
            f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW - 6}" fill="{colour[name]}">'
            f"<title>{escape(name)}: {first} to {last} ps</title></rect>"
        )
        if width > 6.2 * len(name) + 6:
            out.append(f'<text x="{x + 4:.1f}" y="{y + 12}" fill="#ffffff">{escape(name)}</text>')
        for flow in flows:
            starts[flow] = (place(last), TOP + ROW * rows[track] + ROW / 2)
    for track, _, first, _, _, flows in shown:
        for flow in flows:
            if flow in starts and first >= begin:
                (x1, y1), x2, y2 = starts[flow], place(first), TOP + ROW * rows[track] + ROW / 2
                out.append(
                    f'<line x1="{x1:.1f}" y1="{y1}" x2="{x2:.1f}" y2="{y2}" stroke="#333333" '
                    'stroke-width="0.7" stroke-dasharray="3 2"/>'
                )
    x = LEFT
    for name in names:
        out.append(f'<rect x="{x}" y="{height - 24}" width="11" height="11" fill="{colour[name]}"/>')
        out.append(f'<text x="{x + 16}" y="{height - 14}" fill="#333333">{escape(name)}</text>')
        x += 34 + 6 * len(name)
    out.append("</svg>")
    return "\n".join(out)


def main():
    with open(sys.argv[1], "rb") as file:
        tracks, slices = read(file.read())
    if len(sys.argv) > 3:
        begin, end = (round(float(word) * 1e6) for word in sys.argv[2:4])
    else:
        begin, end = min(one[2] for one in slices), max(one[3] for one in slices)
    print(svg(tracks, slices, begin, end))


if __name__ == "__main__":
    main()
