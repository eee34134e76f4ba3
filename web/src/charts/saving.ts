/** Hands a file to the browser to be saved. */
export function saveText(name: string, text: string, type: string): void {
  saveAddress(name, URL.createObjectURL(new Blob([text], { type })));
}

export function saveAddress(name: string, address: string): void {
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  if (address.startsWith("blob:")) setTimeout(() => URL.revokeObjectURL(address), 10_000);
}
