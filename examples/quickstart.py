"""Five lines from a model to a table of certificates, with the embedded model and images.

pip install 'dsrs[demo,frame]', then: python examples/quickstart.py
"""

import dsrs

model, images, labels = (
    dsrs.load_demo()
)  # yours: a PyTorch module, "net.onnx", an estimator, a function
smoothed = dsrs.smooth(model, sigma=0.5, n=1000)
result = smoothed.certify(images[:20], labels[:20])
print(result.to_frame()[["label", "predicted", "status", "radius"]])
print("certified accuracy at radius 0.25 and 0.5:", result.accuracy([0.25, 0.5]))
