"""Run by CycleCloud on a node that it starts for testing: muster finds the node healthy."""

import subprocess
import unittest


class MusterTest(unittest.TestCase):
    def test_node_is_healthy(self):
        command = ["muster", "check", "--context", "boot"]
        check = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(check.returncode, 0, check.stdout + check.stderr)


if __name__ == "__main__":
    unittest.main()
