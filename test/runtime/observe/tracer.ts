/** The real OpenTelemetry tracer with an in-memory exporter. */
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';

export type RecordingTracer = {
  /** without those of turns, in the order they ended */
  spans(): readonly ReadableSpan[];
  turns(): readonly ReadableSpan[];
  /** No tracer is registered any more. */
  stop(): Promise<void>;
};

export const registerTracer = (): RecordingTracer => {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  const isTurn = ({ name }: ReadableSpan) => name.startsWith('turn ');
  return {
    spans: () => exporter.getFinishedSpans().filter((span) => !isTurn(span)),
    turns: () => exporter.getFinishedSpans().filter(isTurn),
    stop: async () => {
      await provider.shutdown();
      trace.disable();
      context.disable();
      propagation.disable();
    },
  };
};
