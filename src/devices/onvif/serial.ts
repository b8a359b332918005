/** Whether a serial number tells a device from others: not what stands in every device of a maker who cares for none. */
export const isOwnSerial = (serial: string): boolean =>
  serial.length >= 4 && !/^([0\W_]*|(.)\2*|0?123456789.*|0*123456\d*|none|null|unknown|default|n\/a)$/i.test(serial);
