import { afterAll, beforeAll } from 'vitest';
import { bench, type Checkout, fromSources, startCheckout } from './checkout.ts';
import { runRows } from './line.ts';

let stage: Checkout;
beforeAll(async () => {
  stage = await startCheckout();
}, 120_000);
afterAll(() => stage?.close());

runRows([...bench, ...fromSources], () => stage);
