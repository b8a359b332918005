import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { SitewardError } from '../../../src/errors.ts';
import { failItem, runBulk } from '../../../src/sandbox/cloud/bulk.ts';

const item = z.object({ name: z.string({ error: 'must be a string' }) });
const run = (items: readonly unknown[], apply: (item: { name: string }) => object = ({ name }) => ({ name })) =>
  runBulk(items, { item, apply: (one) => apply(one) as { name: string } });

describe('bulk result', () => {
  it('S-122 S-125 a wrong item fails alone and names its field', () => {
    expect(run([{ name: 'a' }, { name: 1 }, 7, { name: 'b' }])).toEqual({
      success_count: 2,
      failure_count: 2,
      results: [
        { is_successful: true, req: { name: 'a' }, res: { name: 'a' } },
        { is_successful: false, req: { name: 1 }, status_code: 400, error_message: 'name: must be a string' },
        { is_successful: false, req: 7, status_code: 400, error_message: expect.stringMatching(/^item: /) },
        { is_successful: true, req: { name: 'b' }, res: { name: 'b' } },
      ],
    });
  });
  it('an item its work refuses carries the status of the refusal', () => {
    const result = run([{ name: 'a' }], () => failItem(404, 'there is none'));
    expect(result.results).toMatchObject([{ is_successful: false, status_code: 404, error_message: 'there is none' }]);
    expect(result.results[0]).not.toHaveProperty('res');
  });
  it('a bound that is reached fails the item with a sentence, not the call', () => {
    const result = run([{ name: 'a' }], () => {
      throw new SitewardError('queue_full', 'the sandbox is full');
    });
    expect(result.results).toMatchObject([{ status_code: 400, error_message: 'the sandbox is full' }]);
  });
  it('a defect is no failure of an item', () => {
    const broken = () => {
      throw new TypeError('x');
    };
    expect(() => run([{ name: 'a' }], broken)).toThrow(TypeError);
  });
  it('S-127 counts agree and the order is that of the input, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.jsonValue(), fc.record({ name: fc.string() }))), (items) => {
        const result = run(items);
        expect(result.results.map(({ req }) => req)).toEqual(items);
        expect(result.success_count + result.failure_count).toBe(items.length);
        expect(result.results.filter(({ is_successful }) => is_successful)).toHaveLength(result.success_count);
      }),
    );
  });
});
