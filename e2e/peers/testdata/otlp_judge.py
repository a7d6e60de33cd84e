"""Judges what the gateway sends by OTLP, with the messages of OpenTelemetry's own
Python package.

Reads requests, one JSON object a line, from stdin: {"path", "body"} with the body in
base64. Writes a line for each span, {"trace", "id", "parent", "name", "kind", "failed",
"attributes", "links", "faults"}, and one for each metric, {"metric", "kind", "points", "faults"}.
"""

import base64
import json
import re
import sys

from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

NAME = re.compile(r"[A-Za-z][-A-Za-z0-9_./]{0,254}")


def unknown(message):
    """Counts fields that the package has no name for."""
    n = len(UnknownFieldSet(message))
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for m in value if hasattr(value, "__len__") else [value]:
            n += unknown(m)
    return n


def value(any_value):
    return getattr(any_value, any_value.WhichOneof("value"))


def judge_span(span):
    faults = []
    if len(span.trace_id) != 16 or not any(span.trace_id) or len(span.span_id) != 8 or not any(span.span_id):
        faults.append("ids")
    if len(span.parent_span_id) not in (0, 8):
        faults.append("parent")
    if not 0 < span.start_time_unix_nano <= span.end_time_unix_nano:
        faults.append("times")
    if len({a.key for a in span.attributes}) != len(span.attributes):
        faults.append("an attribute comes twice")
    if any(len(l.trace_id) != 16 or len(l.span_id) != 8 or l.trace_id == span.trace_id for l in span.links):
        faults.append("links")
    if span.dropped_attributes_count or span.dropped_links_count or unknown(span):
        faults.append("something is dropped or unknown")
    return {
        "trace": span.trace_id.hex(), "id": span.span_id.hex(), "parent": span.parent_span_id.hex(), "name": span.name,
        "kind": Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        "failed": span.status.code == Status.STATUS_CODE_ERROR,
        "attributes": {a.key: str(value(a.value)) for a in span.attributes},
        "links": [f"{l.trace_id.hex()}-{l.span_id.hex()}" for l in span.links], "faults": faults,
    }


def judge_metric(metric):
    faults, kind = [], metric.WhichOneof("data")
    points = getattr(metric, kind).data_points
    if not NAME.fullmatch(metric.name):
        faults.append("name")
    if not metric.description:
        faults.append("description")
    if unknown(metric):
        faults.append("something is unknown")
    for p in points:
        if kind == "histogram" and (len(p.bucket_counts) != len(p.explicit_bounds) + 1 or sum(p.bucket_counts) != p.count):
            faults.append("buckets")
        if not p.time_unix_nano or kind != "gauge" and not p.start_time_unix_nano:
            faults.append("times")
    return {"metric": metric.name, "kind": kind, "points": len(points), "faults": faults}


def main():
    for line in sys.stdin:
        given = json.loads(line)
        body = base64.b64decode(given["body"])
        if given["path"] == "/v1/traces":
            request = ExportTraceServiceRequest.FromString(body)
            for scope in (s for r in request.resource_spans for s in r.scope_spans):
                for span in scope.spans:
                    print(json.dumps(judge_span(span)))
        else:
            request = ExportMetricsServiceRequest.FromString(body)
            for scope in (s for r in request.resource_metrics for s in r.scope_metrics):
                for metric in scope.metrics:
                    print(json.dumps(judge_metric(metric)))


main()
