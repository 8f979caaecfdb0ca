"""A CUDA graph on the CPU: records the operations of work, and repeats them in the same memory."""

from operations import NoWaiting, Tape

from attnexp.training.graphs import CudaRecorder


class TapeRecorder(CudaRecorder):
    """Records on tapes, and counts what it was asked for."""

    def __init__(self):
        self.asked = []

    def warm_up(self, work):
        self.asked.append("warm up")
        return work()

    def rehearse(self, work):
        self.asked.append("rehearse")
        with NoWaiting():
            return work()

    def record(self, work):
        self.asked.append("record")
        with NoWaiting(), Tape() as tape:
            result = work()
        tape.rewind()

        def replay():
            self.asked.append("replay")
            tape.replay()
            return result.clone()

        return replay
