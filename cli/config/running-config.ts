/** What the running gateway of a data folder says about its configuration. */
import type { ConfigurationStatus } from '../../operations/operation.ts';
import type { CommonOptions } from '../options.ts';

/** undefined if no gateway of this data folder runs here, or it does not answer. */
export async function runningConfiguration(
  home: string,
  options: CommonOptions,
): Promise<ConfigurationStatus | undefined> {
  const { runningGateway } = await import('../../installation/running-gateway.ts');
  if (runningGateway(home) === undefined) return undefined;
  const [{ callOperation }, { gatewayHttp }, { settings }] = await Promise.all([
    import('../run-operation.ts'),
    import('../client/gateway-http.ts'),
    import('../../operations/settings.ts'),
  ]);
  const status = settings.operations.find(({ name }) => name === 'settings.status')!;
  try {
    const send = await gatewayHttp(options);
    return (await callOperation(status, send, {})) as ConfigurationStatus;
  } catch {
    return undefined;
  }
}
