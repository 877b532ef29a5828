/** `location.get`: the position of this device. */
import { browserPermission, type Capability, CommandError } from './capability.ts';

type Params = {
  readonly timeoutMs?: number;
  readonly maxAgeMs?: number;
  readonly desiredAccuracy?: 'coarse' | 'balanced' | 'precise';
};

const TIMEOUT_MS_DEFAULT = 10_000;

const place = ({
  timeoutMs = TIMEOUT_MS_DEFAULT,
  maxAgeMs = 0,
  desiredAccuracy = 'balanced',
}: Params): Promise<GeolocationPosition> =>
  new Promise((resolve, reject) => {
    const failed = ({ code, message }: GeolocationPositionError) => {
      const codes = ['UNAVAILABLE', 'FORBIDDEN', 'UNAVAILABLE', 'DEADLINE_EXCEEDED'];
      const said = message || 'the browser does not say why';
      reject(new CommandError(codes[code] ?? 'UNAVAILABLE', `no location: ${said}`));
    };
    navigator.geolocation.getCurrentPosition(resolve, failed, {
      timeout: timeoutMs,
      maximumAge: maxAgeMs,
      enableHighAccuracy: desiredAccuracy === 'precise',
    });
  });

const get = async (params: Params): Promise<object> => {
  const { coords, timestamp } = await place(params);
  const position = {
    lat: coords.latitude,
    lon: coords.longitude,
    accuracyMeters: coords.accuracy,
    altitudeMeters: coords.altitude,
    speedMps: coords.speed,
    headingDeg: coords.heading,
  };
  const known = Object.entries(position).filter(([, value]) => value !== null);
  return { ...Object.fromEntries(known), timestamp: new Date(timestamp).toISOString() };
};

export const locationCapability: Capability = {
  name: 'location',
  command: 'location.get',
  description: 'Where the device is; answers {lat, lon, accuracyMeters, timestamp}.',
  params: {
    type: 'object',
    additionalProperties: false,
    properties: {
      timeoutMs: { type: 'integer', minimum: 100, maximum: 120_000 },
      maxAgeMs: { type: 'integer', minimum: 0 },
      desiredAccuracy: { enum: ['coarse', 'balanced', 'precise'] },
    },
  },
  supported: () => navigator.geolocation !== undefined,
  permission: () => browserPermission('geolocation'),
  request: async () => void (await place({})),
  run: get,
};
