/** Decimals of where a line stands. ECharts would move it to the nearest hundredth, which is far for 0.0755 ms. */
export const EXACT = 12;
