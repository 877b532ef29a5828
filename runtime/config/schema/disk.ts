/** The configuration's section on the free space of this machine's disks. */
import { Type } from '@sinclair/typebox';
import { applied, section } from './fields.ts';

const GIB = 2 ** 30;
const percent = (standard: number, description: string) =>
  Type.Number({ minimum: 0, maximum: 90, default: standard, description });
const size = (standard: number, description: string) =>
  Type.Integer({ minimum: 0, default: standard, description });

export const diskSection = applied(
  'process',
  section(
    'free space of the disks with data. Of percent and bytes the smaller amount counts; 0 disables a threshold',
    {
      warnPercent: percent(10, 'a warning is raised below this share of the disk'),
      warnBytes: size(2 * GIB, 'a warning is raised below this amount'),
      readOnlyPercent: percent(3, 'no new work is accepted below this share of the disk'),
      readOnlyBytes: size(GIB / 2, 'no new work is accepted below this amount'),
    },
  ),
);
