/**
 * Traces of troupe by OTLP over HTTP. Copy it beside a folder node_modules with its packages:
 *
 *   npm install @opentelemetry/resources @opentelemetry/sdk-trace-node \
 *     @opentelemetry/exporter-trace-otlp-http
 *   OTEL_EXPORTER_OTLP_ENDPOINT=http://collector:4318 node --import ./otel.mjs dist/troupe.js start
 *
 * Settings are OpenTelemetry's variables, such as OTEL_SERVICE_NAME and OTEL_TRACES_SAMPLER
 * (docs/observability.md, Traces).
 */
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';

const named = resourceFromAttributes({ 'service.name': 'troupe' });
const provider = new NodeTracerProvider({
  resource: named.merge(detectResources({ detectors: [envDetector] })),
  spanProcessors: [new BatchSpanProcessor(new OTLPTraceExporter())],
});
provider.register();
// The spans of the last seconds leave before the process ends.
process.once('beforeExit', () => void provider.shutdown());
