// Package otlp sends traces to a collector, by OTLP over HTTP. OpenTelemetry's own client for it imports gRPC: a
// sixth of the packages that a build of divvy compiled.
//
// Settings are OpenTelemetry's, OTEL_EXPORTER_OTLP_X, and before it OTEL_EXPORTER_OTLP_TRACES_X: HEADERS, CERTIFICATE,
// CLIENT_CERTIFICATE with CLIENT_KEY, COMPRESSION (gzip), TIMEOUT (milliseconds).
package otlp
