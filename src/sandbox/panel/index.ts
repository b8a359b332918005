export { type SimPanel, startPaiPanel } from './pai.ts';
export { type SimSensors, startZigbeeSensors } from './zigbee.ts';
