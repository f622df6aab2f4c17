"""`dsrs route`: a folder with a router and its experts, which `--model` reads as one model."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

from dsrs.cli.options import Commands
from dsrs.cli.route_training import add_training_options, train
from dsrs.cli.values import numbers, whole_numbers
from dsrs.errors import InvalidInput

if TYPE_CHECKING:
    from dsrs.routing import Member

EPILOG = """\
examples:
  dsrs route --model net.onnx --sigmas 0.25,0.5,1 --router router.onnx --router-sigma 0.5 \\
      --output routed
      One network under three noises, and a router of your own that answers 0, 1 or 2.
  dsrs route --experts experts.toml --router router.onnx --router-sigma 0.5 --output routed
      Experts with models of their own: tables [[experts]] with `model` and `sigma` (and `k`).
  dsrs route --model net.onnx --sigmas 0.75,1 --data fashion-mnist/ --output routed
      Train a router from inputs that `dsrs train --hold-out` kept out; nothing is written unless
      the router is predicted to certify more than one noise.
  dsrs certify --model routed --data MNIST/ --output runs/routed
      Certify the whole: the answer of the expert that the router names.

A router is any classifier with as many answers as there are experts: answer j sends an input to
expert j. An expert of sigma 0 is used as it is, without noise, and gets no certificates. A router
is smoothed too, and certified with each input (docs/routing.md).
"""


def add_parser(commands: Commands) -> None:
    parser = commands.add_parser(
        "route",
        run=run,
        help="a router and its experts as one model, which chooses its noise by the input",
        description="Write a folder that names a router, its experts and their noise; --model "
        "takes the folder wherever it takes a model.",
        epilog=EPILOG,
    )
    group = parser.add_argument_group("experts")
    group.add_argument("--experts", metavar="FILE", help="TOML file with a table [[experts]] each")
    group.add_argument("--model", help="one model for all experts, with --sigmas")
    group.add_argument(
        "--sigmas", type=numbers, help="the noise of each expert, such as 0.25,0.5,1; 0 is none"
    )
    group.add_argument("--k", default=0.0, help="exponent of their noise (default: 0)")
    router = parser.add_argument_group("router")
    router.add_argument(
        "--router", metavar="FILE", help="the model of the router; without it, --data trains one"
    )
    router.add_argument("--router-sigma", type=float, help="size of the router's noise")
    router.add_argument("--router-k", default=0.0, help="exponent of its noise (default: 0)")
    add_training_options(parser.add_argument_group("training a router, in place of --router"))
    parser.add_argument("--output", required=True, help="folder to write route.toml into")
    parser.add_argument(
        "--input-shape",
        type=whole_numbers,
        help="shape of one input, such as 1,28,28, where a model does not say it",
    )


def run(arguments: argparse.Namespace) -> int:
    from dsrs.classifiers import load_classifier
    from dsrs.classifiers.adapters import ModelOptions
    from dsrs.classifiers.routed import Route
    from dsrs.errors import ShapeNeeded
    from dsrs.routing import Member, write_route

    experts = _experts(arguments)
    if (arguments.router is None) == (arguments.data is None):
        raise InvalidInput("give a router with --router FILE, or --data to train one on")
    if arguments.data is not None:
        return train(arguments, experts)
    if arguments.router_sigma is None:
        raise InvalidInput("--router needs --router-sigma, the size of its noise")
    router = Member(arguments.router, arguments.router_sigma, arguments.router_k)
    shape = None if arguments.input_shape is None else tuple(arguments.input_shape)
    try:
        route = Route(router, tuple(experts))
        print(route.load(ModelOptions(input_shape=shape), load_classifier).description)
    except ShapeNeeded:
        print("the models do not say the shape of an input, so that they were not tried together")
    write_route(arguments.output, router, experts)
    print(f"next: dsrs certify --model {arguments.output} --data DATA --output RUN")
    return 0


def _experts(arguments: argparse.Namespace) -> Sequence[Member]:
    from dsrs.classifiers.routed import read_experts
    from dsrs.routing import Member

    if arguments.experts is not None:
        if arguments.model is not None or arguments.sigmas is not None:
            raise InvalidInput("--experts names models and noise; leave --model and --sigmas out")
        return read_experts(arguments.experts)
    if arguments.model is None or arguments.sigmas is None:
        raise InvalidInput("name the experts with --experts FILE, or with --model and --sigmas")
    return [Member(arguments.model, s, arguments.k if s else 0.0) for s in arguments.sigmas]
