"""One way of reading samples a file: a folder of images, TFRecords, COCO, MNIST …"""
