"""Writes tensorflow_values.json: what TensorFlow's optimizers, moving average and loss give, in float32.

Needs tensorflow-cpu (2.21.0 here), which the project does not: python tests/training/write_tensorflow_values.py
"""

import json
import math
from pathlib import Path

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
STEPS = 20
DRAWN = np.random.default_rng(20201206)
WARM_UP = [0.02, 0.04, 0.06, 0.08, 0.1]
RATES = WARM_UP + [round(0.05 * (1 + math.cos(math.pi * step / STEPS)), 6) for step in range(len(WARM_UP), STEPS)]
START = DRAWN.standard_normal(6).astype(np.float32)
GRADIENTS = (DRAWN.standard_normal((STEPS, 6)) * np.array([1.0, 0.1, 0.1, 0.01, 3.0, 1e-4])).astype(np.float32)


def optimizer_path(make):
    with tf.Graph().as_default(), v1.Session() as session:
        variable = v1.get_variable("variable", initializer=START)
        rate, gradient = v1.placeholder(tf.float32, []), v1.placeholder(tf.float32, [6])
        update = make(rate).apply_gradients([(gradient, variable)])
        session.run(v1.global_variables_initializer())
        path = []
        for step in range(STEPS):
            session.run(update, {rate: RATES[step], gradient: GRADIENTS[step]})
            path.append(session.run(variable).tolist())
    return {"start": START.tolist(), "learning_rates": RATES, "gradients": GRADIENTS.tolist(), "after_each_step": path}


def average_path(decay):
    """The average is updated after each step with num_updates = the number of steps done, as the official code does."""
    values = DRAWN.standard_normal((STEPS, 6)).astype(np.float32)
    with tf.Graph().as_default(), v1.Session() as session:
        variable = v1.get_variable("variable", initializer=START)
        value, steps_done = v1.placeholder(tf.float32, [6]), v1.placeholder(tf.int32, [])
        average = tf.train.ExponentialMovingAverage(decay, num_updates=steps_done)
        change = variable.assign(value)
        update = average.apply([variable])
        session.run(v1.global_variables_initializer())
        path = []
        for step in range(STEPS):
            session.run(change, {value: values[step]})
            session.run(update, {steps_done: step + 1})
            path.append(session.run(average.average(variable)).tolist())
    return {"decay": decay, "start": START.tolist(), "values": values.tolist(), "after_each_step": path}


def smoothed_cross_entropy(smoothing):
    logits = (2 * DRAWN.standard_normal((4, 5))).astype(np.float32)
    labels = [0, 3, 4, 3]
    with tf.Graph().as_default(), v1.Session() as session:
        given = v1.placeholder(tf.float32, [4, 5])
        loss = v1.losses.softmax_cross_entropy(tf.one_hot(labels, 5), given, label_smoothing=smoothing)
        value, gradient = session.run([loss, tf.gradients(loss, given)[0]], {given: logits})
    return {
        "logits": logits.tolist(),
        "labels": labels,
        "label_smoothing": smoothing,
        "value": float(value),
        "gradient": gradient.tolist(),
    }


def main():
    values = {
        "tensorflow": tf.__version__,
        "rmsprop": {"decay": 0.9, "momentum": 0.9, "epsilon": 0.001}
        | optimizer_path(lambda rate: v1.train.RMSPropOptimizer(rate, decay=0.9, momentum=0.9, epsilon=0.001)),
        "nesterov": {"momentum": 0.9}
        | optimizer_path(lambda rate: v1.train.MomentumOptimizer(rate, 0.9, use_nesterov=True)),
        "moving_average": average_path(0.9999),
        "moving_average_capped": average_path(0.5),
        "cross_entropy": smoothed_cross_entropy(0.1),
    }
    Path(__file__).with_name("tensorflow_values.json").write_text(json.dumps(values, indent=1) + "\n")


if __name__ == "__main__":
    main()
