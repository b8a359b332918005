import { expect, it } from 'vitest';
import { isOfOffice } from '#cloud/contract/index.ts';

it.each([
  ['site_created', 'site hq created', true],
  ['device_updated', 'camera yard renamed', true],
  ['device_updated', 'Hold-up button renamed', false],
  ['contact_created', 'contact for dispatch', false],
  ['event', 'burglary', false],
  ['of another service', 'anything', false],
])('safety 4 and 6: "%s", "%s" is of the office alone: %s', (type, description, is) => {
  expect(isOfOffice({ type, description })).toBe(is);
});
